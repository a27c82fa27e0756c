#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hierarchy.sh [PROGRAM] - tags, sidecars, reports, GraphML and extraction by their command lines; numbers (4, 4.2) are
# those of the checklist that the exporter was specified by. What Python expected lies in tests/golden/htp (tools/oracle/tags.py).
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/htp
EXPORTS=$ROOT/tests/golden/export

# ---- part 4: analyze ----
works "export" "$EF" export "$BUS" bus
works "4 analyze" "$EF" analyze bus/model.onnx
for key in model_info statistics hierarchy_tags node_tags version; do has "4 json" "^  \"$key\": "; done
has "4 coverage is counted" '"coverage": 100.0'
has "4 source" '"tag_source": "metadata_props"'
cp txt first
works "--json is the default format" "$EF" analyze bus/model.onnx --json
cmp -s first txt && pass || flunk "--json"
works "4 summary" "$EF" analyze bus/model.onnx --output-format summary
for words in "^Model: bus/model.onnx" "^Total unique tags: 18" "^Total tagged operations: 115" "^Tag coverage: 100.0%" \
    "^Total nodes processed: 115" "^Tag distribution:"; do has "4 summary" "$words"; done
works "4 csv" "$EF" analyze bus/model.onnx --output-format csv --output-file deep/tags.csv
has "4 output file" "^Analysis exported to: deep/tags.csv"
head -1 deep/tags.csv | grep -q '^Tag,Count$' && grep -q '^"/BertForTokenClassification",2$' deep/tags.csv && pass || flunk "4 csv rows"
works "4 filter" "$EF" analyze bus/model.onnx --filter-tag BertAttention --output-format csv
[ "$(sed 1d txt | grep -vc BertAttention)" = 0 ] && [ "$(sed 1d txt | wc -l)" = 6 ] && pass || flunk "4 filter"
works "4 nothing found" "$EF" analyze bus/model.onnx --filter-tag NoSuchModule --output-format csv
has "4 nothing found" '^"No tags found",0$'
refuses "4 missing file" "No such file or directory" "$EF" analyze missing.onnx
refuses "4 format" "wanted json, csv or summary" "$EF" analyze bus/model.onnx --output-format xml
printf 'no model' >bad.onnx && refuses "4 no model" "Error during analysis: bad.onnx" "$EF" analyze bad.onnx
# 2.4: TorchScript (classes by config.json) and torch.export, node by node what hooks over transformers say.
for kind in bert-script albert-script bert-dynamo; do
    works "2.2 $kind" "$EF" analyze "$GOLDEN/$kind/model.onnx" --output-format csv
    cmp -s txt "$GOLDEN/$kind/tags.csv" && pass || flunk "2.2 $kind: tags"
done
mkdir alone && cp "$GOLDEN/bert-script/model.onnx" alone
works "2.4 names alone" "$EF" analyze alone/model.onnx --output-format csv
has "2.4 paths instead of classes" '"/UnknownModel/bert/encoder/layer.0/attention/self"'
for form in attributes docs; do
    works "3.2 $form" "$EF" analyze "$GOLDEN/$form.onnx" --output-format csv
    has "3.2 $form" '^"/Net/Layer",1$'
done
# 3.2: a clean file is read through its sidecar, of any age.
works "clean" "$EF" export "$BUS" clean --clean-onnx
works "3.2 clean file" "$EF" analyze clean/model.onnx --output-format csv
cmp -s txt deep/tags.csv || { "$EF" analyze bus/model.onnx --output-format csv >all.csv && cmp -s txt all.csv; }
check $? "3.2 the sidecar says what the tags said"
cp "$GOLDEN/attributes.onnx" old.onnx
cp clean/model.onnx side.onnx && for old in '"tagged_nodes": {"/classifier/MatMul": "/Head"}' \
    '"node_tags": {"/classifier/MatMul": {"op_type": "MatMul", "tags": ["/Head"], "primary_path": "/Head", "tag_count": 1}}'; do
    printf '{%s}' "$old" >side_hierarchy.json
    works "3.1 older sidecar" "$EF" analyze side.onnx --output-format csv
    has "3.1 older sidecar" '^"/Head",1$'
done
printf '[1]' >side_hierarchy.json && refuses "3.1 a list" "wanted an object" "$EF" analyze side.onnx
printf '{"nodes": ' >side_hierarchy.json && refuses "3.1 cut JSON" "side_hierarchy.json: line 1" "$EF" analyze side.onnx

# ---- validate ----
works "4 validate" "$EF" validate bus/model.onnx --check-consistency
for words in "^ONNX model is valid" "^Found 115 operations with hierarchy tags" "^Found sidecar file: model_htp_metadata.json" \
    "^Tags are consistent"; do has "4 validate" "$words"; done
works "4 validate --json" "$EF" validate bus/model.onnx --check-consistency --json
has "4 report" '"total_sidecar_nodes": 115'
works "4 clean" "$EF" validate clean/model.onnx --check-consistency
has "4 clean" "^Found 0 operations"
works "no sidecar" "$EF" validate "$GOLDEN/docs.onnx"
has "no sidecar" "^No sidecar file found"
cp bus/model.onnx changed.onnx && sed 's,"/BertForTokenClassification/BertModel/BertEmbeddings","/Other",' \
    bus/model_htp_metadata.json >changed_htp_metadata.json
"$EF" validate changed.onnx --check-consistency >txt 2>err && flunk "an inconsistency: exit 0" || has "4 inconsistent" "^Tag inconsistencies found"
"$EF" validate "$GOLDEN/attributes.onnx" >txt 2>err && flunk "attributes: exit 0" || has "3.2 attributes" "ONNX Runtime refuses them"
works "11.2 --repair moves attributes" "$EF" validate old.onnx --repair
has "--repair" "^Repaired 2 operations"
works "valid afterwards" "$EF" validate old.onnx
works "tags stay" "$EF" analyze old.onnx
has "tags stay" '"tag_source": "metadata_props"'
works "11.2 --repair by the sidecar" "$EF" validate changed.onnx --check-consistency --repair
has "--repair" "^Tags are consistent"
works "--repair of a clean file" "$EF" validate clean/model.onnx --repair
"$EF" analyze clean/model.onnx >txt && "$EF" analyze bus/model.onnx | sed 's,bus/,clean/,' | cmp -s - txt
check $? "a repaired clean file is the tagged one"
cp bus/config.json clean && "$EF" infer --entities -m clean "from Bangalore to Mumbai" >txt 2>err
has "a repaired file still answers" Bangalore
cp bus/model.onnx again.onnx && works "nothing to repair" "$EF" validate again.onnx --repair
cmp -s bus/model.onnx again.onnx && has "nothing to repair" "^Repaired 0"
refuses "4 validate: missing" "No such file" "$EF" validate missing.onnx

works "1.2 --show-metadata" "$EF" analyze bus/model.onnx --show-metadata --show-task --show-processor --validate-metadata
for words in '"task": "token-classification"' '"processor": {' '"metadata": {' '"metadata_problems": \[\]'; do has "1.2 metadata" "$words"; done
works "1.2 in the summary" "$EF" analyze bus/model.onnx --show-task --output-format summary
has "1.2 in the summary" '^task: "token-classification"'
works "1.2 --check-metadata" "$EF" validate bus/model.onnx --check-metadata --check-task --check-processor
has "1.2 --check-metadata" "^Metadata is valid"
"$EF" validate "$GOLDEN/docs.onnx" --check-metadata >txt 2>err && flunk "1.2 no metadata: exit 0" || has "1.2 no metadata" "^Metadata: "

# ---- compare ----
works "4 compare" "$EF" compare bus/model.onnx "$GOLDEN/bert-script/model.onnx" --output-file diff.json
for words in "^Model 1: bus" "^Model 2: " "^Found [0-9]* tag differences" "BertEmbeddings: 8 -> 50"; do has "4 compare" "$words"; done
for key in model1_path model2_path tag_differences model1_only_tags model2_only_tags summary total_differences; do
    grep -q "\"$key\": " diff.json && pass || flunk "4 compare: $key"
done
works "equal files" "$EF" compare bus/model.onnx clean/model.onnx --json
has "equal files" '"total_differences": 0'
refuses "one file" "wanted two" "$EF" compare bus/model.onnx

# ---- 5.4 GraphML ----
works "5.4 export-graphml" "$EF" export-graphml bus/model.onnx bus/model_htp_metadata.json -o g/bus
has "5.4 said" "115 nodes in 24 modules, 136 edges"
[ "$(grep -c '^<key ' g/bus.graphml)" = 31 ] && pass || flunk "5.4: 31 keys"
for words in 'key="meta0">model.onnx<' 'key="meta1">model_htp_metadata.json<' 'key="meta2">1.3<' 'key="param0">sidecar<' 'key="param1">bus.onnxdata<' \
    '<node id="bert.encoder.layer.0.attention.self"><data key="n0">BertSelfAttention<' '<graph id="bert.encoder.layer.0::"' \
    '<data key="n0">Input</data><data key="n3">input_ids<' '<graph id="BertForTokenClassification" edgedefault="directed">'; do
    grep -q -- "$words" g/bus.graphml && pass || flunk "5.4: lacks $words"
done
[ "sha256:$(sha256sum <g/bus.onnxdata | cut -d' ' -f1)" = "$(sed -n 's/.*key="param2">\([^<]*\)<.*/\1/p' g/bus.graphml)" ] && pass || flunk "5.4 checksum"
gzip -dc g/bus.onnxdata | head -c 25 | grep -q '^{"format_version":"1.3",' && pass || flunk "5.4 onnxdata is gzip of JSON"
works "5.4 import-onnx" "$EF" import-onnx g/bus.graphml g/back.onnx --validate
cmp -s bus/model.onnx g/back.onnx && pass || flunk "5.4 sidecar: not the same file"
works "5.4 embedded" "$EF" export-graphml bus/model.onnx -o g/in --strategy embedded --json
has "--json" '"modules": 24'
works "5.4 import of it" "$EF" import-onnx g/in.graphml g/back.onnx --validate --json
has "--json" '"parameter_strategy": "embedded"'
cmp -s bus/model.onnx g/back.onnx && [ ! -e g/in.onnxdata ] && pass || flunk "5.4 embedded: not the same file"
works "5.4 reference" "$EF" export-graphml bus/model.onnx --strategy reference
works "5.4 import of it" "$EF" import-onnx bus/model.graphml g/back.onnx
cmp -s bus/model.onnx g/back.onnx && pass || flunk "5.4 reference: not the same file"
refuses "5.4 reference elsewhere" "must stand beside" "$EF" export-graphml bus/model.onnx -o g/far --strategy reference
works "5.4 flat" "$EF" export-graphml bus/model.onnx -o g/flat --flat
grep -q '<graph id="G" edgedefault="directed">' g/flat.graphml && ! grep -q '::"' g/flat.graphml && pass || flunk "5.4 flat"
works "5.4 import of it" "$EF" import-onnx g/flat.graphml g/back.onnx --validate
cmp -s bus/model.onnx g/back.onnx && pass || flunk "5.4 flat: not the same file"
for kind in bert-script bert-dynamo; do # names that repeat, metadata, value types, constants in attributes
    works "11.4 $kind" "$EF" export-graphml "$GOLDEN/$kind/model.onnx" -o g/k
    works "11.4 import" "$EF" import-onnx g/k.graphml g/k.onnx --validate
    "$EF" onnx convert "$GOLDEN/$kind/model.onnx" g/a.onnx --inline && "$EF" onnx convert g/k.onnx g/b.onnx --inline && cmp -s g/a.onnx g/b.onnx
    check $? "11.4 $kind: not the same model"
done
works "clean" "$EF" export "$BUS" clean2 --clean-onnx
works "11.3 a clean file has modules, too" "$EF" export-graphml clean2/model.onnx -o g/clean
has "11.3" "in 24 modules"
rm -f g/back.onnx
broken() { # NAME WORDS SED: a GraphML changed in one place is refused, and nothing is written
    sed "$3" g/in.graphml >g/broken.graphml
    refuses "$1" "$2" "$EF" import-onnx g/broken.graphml g/back.onnx --validate
}
broken "5.4 version" "wanted 1.3" 's/key="meta2">1.3/key="meta2">1.2/'
broken "5.4 no version" "meta2) is missing" 's,<data key="meta2">1.3</data>,,'
broken "5.4 no time" "meta3) is missing" 's,<data key="meta3">[^<]*</data>,,'
broken "5.4 old keys" "older version" 's/<key id="io0"/<key id="g0"/'
broken "5.4 30 keys" "found 30 keys" '/<key id="io0"/d'
broken "5.4 strategy" "wanted sidecar" 's/key="param0">embedded/key="param0">elsewhere/'
broken "5.4 checksum" "checksum" 's/"parameter_count":66/"parameter_count":67/'
broken "5.4 JSON" "n4: line 1" 's/key="n4">\[/key="n4">{/'
broken "5.4 an end of an edge" "which is no node" 's/<edge source="input_input_ids"/<edge source="nobody"/'
broken "5.4 no operator" "without op_type" 's,<data key="n0">Softmax</data>,,'
broken "5.4 no XML" "not well-formed" 's/<edge /<edge</'
broken "11.21 a document type" "not accepted" '1s/$/<!DOCTYPE graphml [<!ENTITY a "aaaa">]>/'
broken "5.4 a value nobody makes" "nobody made before" 's/key="n4">\["input_ids"/key="n4">["input_idz"/'
{ printf '<graphml>' && yes '<node id="n"><graph>' | head -300 | awk '{sub("n\"", "n" NR "\""); print}'; } >g/broken.graphml
refuses "5.4 depth" "nested too deep" "$EF" import-onnx g/broken.graphml g/back.onnx
sed 's,key="param1">bus.onnxdata,key="param1">../bus.onnxdata,' g/bus.graphml >g/broken.graphml
refuses "3.19 a path outside" "wanted a file beside" "$EF" import-onnx g/broken.graphml g/back.onnx
printf 'x' >>g/bus.onnxdata && refuses "5.4 changed weights" "checksum" "$EF" import-onnx g/bus.graphml g/back.onnx
rm g/bus.onnxdata && refuses "5.4 no weights" "bus.onnxdata" "$EF" import-onnx g/bus.graphml g/back.onnx
[ ! -e g/back.onnx ] && pass || flunk "a refused import writes nothing"
refuses "1.1 format" "wanted v1.3" "$EF" export-graphml bus/model.onnx --format v1.1
refuses "1.1 missing" "No such file" "$EF" export-graphml missing.onnx

# ---- parts 3.1 and 5: what an export says about itself ----
works "1.1 export with everything" "$EF" export "$BUS" full --with-report --with-graphml -v
for n in 1 2 3 4 5 6; do has "5.1 step $n" "^STEP $n/6: "; done
for words in "^HTP ONNX EXPORT PROCESS" "^Hierarchy Embedding: ENABLED" "^Coverage: 100.0%" "^Tagged: 115/115" "^... and [0-9]* more lines" \
    "^Traced modules: 25, execution steps: 50" "  - model_htp_export_report.md (" "  - model_hierarchical_graph.onnxdata ("; do has "5.1 console" "$words"; done
side=full/model_htp_metadata.json
[ "$(grep -o '^  "[a-z_]*": {' $side | tr -dc 'a-z_\n' | tr '\n' ' ')" = "export_context model tracing modules nodes outputs report statistics " ] && pass || flunk "3.1 order of keys"
for words in '"timestamp": "20..-..-..T..:..:..\....Z"' '"strategy": "htp"' '"version": "1.0"' '"embed_hierarchy_attributes": true' '"class_names": "transformers-5"' \
    '"framework": "transformers"' '"total_parameters": 429523' '"modules_traced": 25' '"execution_steps": 50' '"dtype": "torch.int64"' '"scope": ""' \
    '"path": "model.onnx"' '"size_mb": 1.69' '"opset_version": 18' '"path": "model_htp_export_report.md"' '"model_preparation": {' '"input_generation": {' \
    '"hierarchy_building": {' '"onnx_export": {' '"node_tagging": {' '"tag_injection": {' '"unique_scopes": ' '"root_fallbacks": ' '"tags_stripped": false' \
    '"onnx_nodes": 115' '"empty_tags": 0' '"coverage_percentage": 100.0' '"module_types": \['; do
    grep -q -- "$words" $side && pass || flunk "3.1: the sidecar lacks $words"
done
grep -q '"path": "model_htp_export_report.md"' bus/model_htp_metadata.json && flunk "3.1 a report that is not there" || pass
report=full/model_htp_export_report.md
grep '^#' $report >titles
cat >wanted <<'END'
# HTP ONNX Export Report
## Export Process
### ✅ Step 1/6: Model Preparation
### ✅ Step 2/6: Input Generation
### ✅ Step 3/6: Hierarchy Building
#### Module Hierarchy Preview
### ✅ Step 4/6: ONNX Export
### ✅ Step 5/6: Node Tagging
#### Top 20 Nodes by Hierarchy
#### Complete HF Hierarchy with ONNX Nodes
### ✅ Step 6/6: Tag Injection
## Module Hierarchy
### Module List (Sorted by Execution Order)
## Complete Node Mappings
## Export Summary
### Performance Metrics
### Coverage Statistics
### Output Files
END
cmp -s titles wanted && pass || flunk "5.2 sections and their order"
[ "$(grep -c ' -> /BertForTokenClassification' $report)" = 115 ] && pass || flunk "5.2 every node"
for words in '429,523 (429.5K)' '| Input Name | Shape | Data Type |' '| input_ids | \[batch_size, sequence_length\] | int64 |' '| Match Type | Count | Percentage |' \
    '| 0 | BertForTokenClassification | 2/115 | `/BertForTokenClassification` | \[ROOT\] |' 'Erf: /bert/encoder/layer.0/intermediate' 'MatMul (5 ops)' \
    "Embedded in the nodes' metadata_props"; do grep -q -- "$words" $report && pass || flunk "5.2: the report lacks $words"; done
works "5.2 clean" "$EF" export "$BUS" full2 --with-report --clean-onnx
grep -q 'Stripped (clean ONNX)' full2/model_htp_export_report.md && grep -q '"tags_stripped": true' full2/model_htp_metadata.json && pass || flunk "5.2 stripped"
works "5.4 the drawing of an export" "$EF" import-onnx full/model_hierarchical_graph.graphml g/drawn.onnx --validate
cmp -s full/model.onnx g/drawn.onnx && pass || flunk "5.4 --with-graphml: not the same file"
works "2.1 --torch-module" "$EF" export "$BUS" torch --torch-module
works "2.1 --torch-module" "$EF" analyze torch/model.onnx --output-format csv
for tag in BertEmbeddings/word_embeddings BertEmbeddings/LayerNorm BertSelfOutput/LayerNorm; do has "2.1 levels of torch.nn" "/$tag\""; done
works "2.3 transformers-4" "$EF" export "$BUS" older --class-names transformers-4
works "2.3 transformers-4" "$EF" analyze older/model.onnx --output-format csv
has "2.3 transformers-4" "BertAttention/BertSdpaSelfAttention\""
grep -q '"class_names": "transformers-4"' older/model_htp_metadata.json && pass || flunk "2.3 said in the sidecar"

# ---- a module alone ----
works "export" "$EF" export "$EXPORTS/bert" bert
works "onnx extract" "$EF" onnx extract bert/model.onnx cut/embeddings.onnx --tag BertEmbeddings
has "typed inputs" "inputs: input_ids int64\[batch_size,sequence_length\], token_type_ids int64\["
has "typed outputs" "outputs: /bert/embeddings/LayerNorm/LayerNormalization_output_0 float\[batch_size,sequence_length,24\]"
works "by the whole tag" "$EF" onnx extract bert/model.onnx cut/encoder.onnx --tag /BertForTokenClassification/BertModel/BertEncoder
works "by a pattern" "$EF" onnx extract bert/model.onnx cut/gelu.onnx --tag '*Layer.1/*/GELUActivation' --json
has "by a pattern" '"nodes": 5,'
works "the root is the whole" "$EF" onnx extract bert/model.onnx cut/all.onnx --tag /BertForTokenClassification
refuses "nothing found" "no node has a tag" "$EF" onnx extract bert/model.onnx cut/none.onnx --tag NoSuchModule
[ ! -e cut/none.onnx ] && pass || flunk "nothing found, nothing written"
refuses "no tag" "wanted IN.onnx" "$EF" onnx extract bert/model.onnx cut/none.onnx
# What PyTorch hooks saw at the edges of three modules (tools/oracle/extract.py), in our engine.
for module in BertEmbeddings BertLayer.0 BertEncoder; do
    cp -r "$GOLDEN/cut/$module" "cut/$module" && works "$module" "$EF" onnx extract bert/model.onnx "cut/$module/model.onnx" --tag "$module"
    works "$module runs" "$EF" onnx test "cut/$module"
    has "$module: PyTorch's values" "^1 passed, 0 failed, 0 unsupported"
done
# Without its weights nobody can tell the types inside.
refuses "types unknown" "the type of 'layer_norm' is not known" "$EF" onnx extract "$GOLDEN/bert-dynamo/model.onnx" cut/none.onnx --tag BertLayer.0
finish
