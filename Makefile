# encoderfile - one static program from Debian packages and gcc. `make`, `make tests`, `make SAN=1 tests`.
CC      ?= gcc
VERSION := $(shell sed -n 's/^## \[\{0,1\}\([0-9][0-9.]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -1)
OUT     := build
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers -Wvla
CFLAGS  ?= -O2 -g
ALL     := -std=gnu11 -D_GNU_SOURCE $(WARN) -Iinclude -Isrc -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -pthread \
           -ffunction-sections -fdata-sections -DEF_VERSION='"$(or $(VERSION),0.0.0)"' -MMD -MP
LDFLAGS := -pthread -Wl,--gc-sections
TLS     ?= 1   # 0: without OpenSSL, 2.7 MB smaller
PARTS   ?= all # library: build/lib/libencoderfile.a, for extension modules of other languages: no server, no TLS
ABI     := 0# of the shared library: another number when a program would have to be compiled again (docs/c-api.md)
MEDIA   ?= 1   # 0: without the decoders of JPEG, PNG, WebP and FLAC
LIBS    := -lyaml -llua5.4 -lexpat -lnghttp2 $(if $(filter 1,$(TLS)),-lssl -lcrypto) \
           $(if $(filter 1,$(MEDIA)),-ljpeg -lpng16 -lwebp -lFLAC -logg) -lzstd -lz -lm
# -w: the C library warns of dlopen, which nothing here calls. The script: no unwind tables (0.8 MB).
STATIC  := -static -s -Wl,-w -Wl,-T,src/cli/program.ld

ifdef SAN   # address and undefined behaviour; sanitizers cannot be static
OUT     := build/san
CFLAGS  := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
STATIC  :=
endif
ifdef TSAN
OUT     := build/tsan
CFLAGS  := -O1 -g -fsanitize=thread
STATIC  :=
endif
ifdef FUZZER
OUT     := build/fuzzer
CC      := clang
CFLAGS  := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
STATIC  :=
FUZZ_LINK := -fsanitize=fuzzer
endif

ifdef ARM   # gcc-aarch64-linux-gnu; the kernel tests need nothing else, and run under qemu-user
OUT     := build/arm
CC      := aarch64-linux-gnu-gcc
endif

# Objects are the same for all of these; who says OUT has them there.
OBJECTS := $(OUT)/obj
ifeq ($(strip $(PARTS)),library)
ifneq ($(origin OUT),command line)
OUT     := $(OUT)/lib
endif
endif

# A folder under kernels/ is an instruction set: its flags, the CPU and the year it stands for.
ISA_avx2 := -mavx2 -mfma -mf16c            # Haswell 2013, Zen 2017
ISA_avxvnni := $(ISA_avx2) -mavxvnni       # Alder Lake 2021, Zen 5 2024
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl   # Skylake-X 2017, Zen 4 2022
ISA_avx512vnni := $(ISA_avx512) -mavx512vnni   # Cascade Lake 2019, Zen 4 2022
ISA_avx512bf16 := $(ISA_avx512) -mavx512bf16   # Cooper Lake 2020, Zen 4 2022
ISA_amx  := $(ISA_avx512bf16) -mamx-tile -mamx-int8 -mamx-bf16   # Sapphire Rapids 2023
ISA_sha  := -msha -msse4.1                 # Goldmont 2016, Zen 2017
ISA_neon :=                                # every 64-bit ARM
ISA_dotprod := -march=armv8.2-a+dotprod    # Cortex-A75 2017, Graviton 2 2019
# Folders in which no time is spent: as small as they can be (0.1 MB).
SMALL   := api cli dialect export graph hub model net onnx package
small    = $(if $(filter -O2,$(CFLAGS)),$(if $(filter $(SMALL),$(word 1,$(subst /, ,$*))),-Os))
# And where nearly all of it is, when sanitizers look on: without this, sums stay in memory and each access is looked at.
quick    = $(if $(filter -O1,$(CFLAGS)),$(if $(filter kernels/%,$*),-O2))
isa      = $(ISA_$(word 2,$(subst /, ,$*)))

FOLDERS_x86_64 := avx2 avxvnni avx512 avx512vnni avx512bf16 amx sha
FOLDERS_aarch64 := neon dotprod
ifndef CPU # a compiler that does not say (zig) is told
CPU  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
endif

SRC  := $(wildcard src/*/*.c $(patsubst %,src/kernels/%/*.c,scalar $(FOLDERS_$(CPU))))
SRC  := $(filter-out src/net/tls$(if $(filter 1,$(TLS)),_none).c src/net/tls_algorithms.c,$(SRC))
SRC  := $(filter-out $(patsubst %,src/image/decode_%.c,$(if $(filter 1,$(MEDIA)),none,jpeg png webp)) \
               src/audio/decode_$(if $(filter 1,$(MEDIA)),none,flac).c,$(SRC))
SRC  := $(filter-out src/api/serving_none.c,$(SRC))
OBJ  := $(SRC:src/%.c=$(OBJECTS)/%.o) $(OBJECTS)/cli/notices.o $(OBJECTS)/server/web_files.o
LIB  := $(filter-out $(OBJECTS)/cli/%,$(OBJ))
SHARED := $(OUT)/libencoderfile.so.$(ABI)
# Without the optional parts: files of the same objects.
SMALL_LIB := $(filter-out $(patsubst %,$(OBJECTS)/%,server/% api/serve.o api/serving.o net/tls.o net/tls_none.o),$(LIB)) \
               $(OBJECTS)/api/serving_none.o $(OBJECTS)/net/tls_none.o
# Which of OpenSSL's algorithms the static program holds: the list is for 3.0, which Debian 12 has. Another version
# keeps its own list, and the program is larger; so does a shared OpenSSL.
OPENSSL = $(shell printf '\043include <openssl/opensslv.h>\n=OPENSSL_VERSION_MAJOR.OPENSSL_VERSION_MINOR' | \
            $(CC) -E -P -xc - 2>/dev/null | sed -n 's/^=//p' | tr -d ' ')
FEW  := $(if $(STATIC),$(if $(filter 1,$(TLS)),$(if $(filter 3.0,$(OPENSSL)),$(OBJECTS)/net/tls_algorithms.o)))
# Parts of libraries that nothing reaches (0.4 MB), looked up when the program is linked.
UNUSED = $(if $(STATIC),$(shell tools/unused $(CC)))
TEST := $(patsubst tests/%.c,$(OUT)/tests/%,$(wildcard tests/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

all: $(if $(filter all,$(PARTS)),$(OUT)/encoderfile) $(OUT)/libencoderfile.a
tests: all $(TEST) $(OUT)/example $(OUT)/models-page
$(OBJECTS)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) $(small) $(quick) $(isa) -c -o $@ $<
$(patsubst src/%.c,$(OBJECTS)/%.o,$(shell grep -l EF_VERSION $(SRC))): CHANGELOG.md
# The notices of what is linked, compressed, inside the program.
$(OBJECTS)/cli/notices.gz: tools/notices CHANGELOG.md LICENSE $(wildcard licenses/*)
	@mkdir -p $(@D)
	tools/notices '$(or $(VERSION),0.0.0)' $(LIBS) >$@.txt && gzip -9n <$@.txt >$@
$(OBJECTS)/cli/notices.o: src/cli/notices.S $(OBJECTS)/cli/notices.gz
	$(CC) -Wa,-I,$(OBJECTS)/cli -c -o $@ $<
# The page for browsers: the files of web/, each compressed.
WEB  := $(patsubst web/%,$(OBJECTS)/web/%,$(wildcard web/*.html web/*.css web/*.js web/*.svg))
$(OBJECTS)/web/%: web/%
	@mkdir -p $(@D)
	gzip -9n <$< >$@
$(OBJECTS)/server/web_files.o: src/server/web.S src/server/web_files.h $(WEB)
	$(CC) -Wa,-I,$(OBJECTS)/web -c -o $@ $<
$(OUT)/libencoderfile.a: $(if $(filter all,$(PARTS)),$(LIB),$(SMALL_LIB))
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
# As it is installed: one object in which only ef_* is visible, so that programs may use the other names.
OBJCOPY = $(shell $(CC) -print-prog-name=objcopy)
$(OUT)/installed/libencoderfile.a: $(LIB)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib -o $(@:.a=.o) $(LIB)
	$(OBJCOPY) -w --keep-global-symbol='ef_*' $(@:.a=.o)
	rm -f $@ && ar rcs $@ $(@:.a=.o)
shared: $(SHARED)
# nodelete: threads that have used it run code of it when they end, dlclose or not.
$(SHARED): $(LIB) src/api/exported.map
	$(CC) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/api/exported.map -Wl,-z,defs,-z,nodelete \
	    -Wl,-Bsymbolic-functions $(LDFLAGS) -o $@ $(LIB) $(LIBS)
$(OUT)/encoderfile: $(OBJ) $(FEW) src/cli/program.ld tools/unused
	$(CC) $(CFLAGS) $(STATIC) $(UNUSED) $(LDFLAGS) -o $@ $(OBJ) $(FEW) $(LIBS)
$(OUT)/tests/%: tests/%.c $(OUT)/libencoderfile.a
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -Itests -o $@ $< $(OUT)/libencoderfile.a $(LDFLAGS) $(LIBS)
# Where these ask for memory, the test decides whether there is any (tests/scarce.h).
$(OUT)/tests/%_memory: LDFLAGS += -Wl,--wrap=aligned_alloc,--wrap=realloc,--wrap=calloc
# And whether a thread can be started.
$(OUT)/tests/test_server_loops: LDFLAGS += -Wl,--wrap=pthread_create
$(OUT)/bench/%: bench/%.c $(OUT)/libencoderfile.a
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -o $@ $< $(OUT)/libencoderfile.a $(LDFLAGS) $(LIBS)
$(OUT)/example: examples/classify.c $(OUT)/libencoderfile.a
	$(CC) -std=c11 -Wall -Wextra -pedantic -Iinclude $(CFLAGS) -o $@ $< $(OUT)/libencoderfile.a $(LDFLAGS) $(LIBS)
$(OUT)/models-page: tools/models-page.c $(OUT)/libencoderfile.a
	$(CC) $(ALL) $(CFLAGS) -o $@ $< $(OUT)/libencoderfile.a $(LDFLAGS) $(LIBS)

# Tests over the AMX kernels and a tile unit in C (tests/amx_tiles.h), for any CPU with AVX-512 and its BF16. These objects
# come before the library, which has the same names; tools/test says which tests there are.
TILED := $(patsubst src/kernels/amx/%.c,$(OBJECTS)/emulated/%.o,$(wildcard src/kernels/amx/*.c))
$(TILED): $(OBJECTS)/emulated/%.o: src/kernels/amx/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) $(ISA_avx512bf16) -include tests/amx_tiles.h -c -o $@ $<
$(OBJECTS)/emulated/amx_tiles.o: tests/amx_tiles.c
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -c -o $@ $<
$(OUT)/emulated/%: tests/%.c $(TILED) $(OBJECTS)/emulated/amx_tiles.o $(OUT)/libencoderfile.a
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -Itests -Wl,--wrap=cpu_features -o $@ $(filter-out %.h,$^) $(LDFLAGS) $(LIBS)

# The kernel tests alone, static: to be carried to another machine, or run by an emulator.
kernels: $(patsubst tests/%.c,$(OUT)/kernels/%,$(wildcard tests/test_kernels*.c))
$(OUT)/kernels/%: tests/%.c $(filter $(OBJECTS)/base/% $(OBJECTS)/kernels/%,$(OBJ))
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) -static -Itests -o $@ $^ $(LDFLAGS) -lm

# Static, so that they can be carried to the machine they are to be run on: single kernels; the engine, and
# the public API, as processes that a script times in turns with others.
bench: $(OUT)/bench/kernels $(OUT)/bench/turns $(OUT)/bench/calls $(OUT)/bench/graph_turns
$(OUT)/bench/turns $(OUT)/bench/calls $(OUT)/bench/graph_turns: LDFLAGS += $(STATIC)
$(OUT)/bench/kernels: bench/kernels.c bench/peak.c $(OUT)/libencoderfile.a
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) $(STATIC) -o $@ $^ $(LDFLAGS) $(LIBS)

# Fuzz targets are plain programs that replay files; FUZZER=1 (clang) makes them libFuzzer programs.
fuzz: $(FUZZ)
$(OUT)/fuzz/fuzz_onnx $(OUT)/fuzz/fuzz_onnx_write $(OUT)/fuzz/fuzz_graph: $(if $(FUZZER),tests/fuzz/mutate.c)
$(OUT)/fuzz/fuzz_lua: tests/fuzz/lua_grammar.h
$(OUT)/fuzz/fuzz_tokenizer: $(if $(FUZZER),tests/fuzz/mutate_json.c)
$(OUT)/fuzz/%: tests/fuzz/%.c tests/fuzz/$(if $(FUZZER),arena,replay).c $(OUT)/libencoderfile.a
	@mkdir -p $(@D)
	$(CC) $(ALL) $(CFLAGS) $(FUZZ_LINK) -Itests -o $@ $(filter %.c,$^) $(OUT)/libencoderfile.a $(LDFLAGS) $(LIBS)

# Manual pages, from the rows of the options: build/man/encoderfile-serve.1 ...
man: $(OUT)/encoderfile
	@mkdir -p build/man
	$< man >build/man/encoderfile.1
	$< --help --json | sed -n 's/^      "name": "\(.*\)",/\1/p' | while read -r name; do \
	    $< man $$name >"build/man/encoderfile-$$(echo $$name | tr ' ' -).1" || exit 1; done

# make install [DESTDIR=...] [prefix=/usr]: program, header, both libraries, pkg-config file, manual pages.
prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir     ?= $(prefix)/share/man
INSTALL    ?= install
install: all man shared $(OUT)/installed/libencoderfile.a
	$(INSTALL) -d $(addprefix $(DESTDIR),$(bindir) $(libdir)/pkgconfig $(includedir) $(mandir)/man1)
	$(INSTALL) -m 755 $(OUT)/encoderfile $(DESTDIR)$(bindir)/encoderfile
	$(INSTALL) -m 644 include/encoderfile.h $(DESTDIR)$(includedir)/encoderfile.h
	$(INSTALL) -m 644 $(OUT)/installed/libencoderfile.a $(DESTDIR)$(libdir)/libencoderfile.a
	$(INSTALL) -m 644 $(SHARED) $(DESTDIR)$(libdir)/$(notdir $(SHARED))
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(libdir)/libencoderfile.so
	$(INSTALL) -m 644 build/man/*.1 $(DESTDIR)$(mandir)/man1
	sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
	    -e 's|@version@|$(or $(VERSION),0.0.0)|; s|@libs@|$(strip $(LIBS))|' src/api/encoderfile.pc.in >$(OUT)/encoderfile.pc
	$(INSTALL) -m 644 $(OUT)/encoderfile.pc $(DESTDIR)$(libdir)/pkgconfig/encoderfile.pc
	$(if $(DESTDIR),,@[ "$$(id -u)" != 0 ] || PATH=$$PATH:/sbin:/usr/sbin ldconfig || :) # programs find it at once

# The extension of the Python package, for this machine: then PYTHONPATH=python works.
PYTHON     ?= python3
python:
	$(PYTHON) python/build.py --cc '$(CC)' --libs '$(filter-out -lnghttp2 -lssl -lcrypto,$(LIBS))'

clean:
	rm -rf build
-include $(wildcard $(OBJECTS)/*/*.d $(OBJECTS)/kernels/*/*.d $(patsubst %,$(OUT)/%/*.d,tests emulated kernels fuzz))
.PHONY: all shared install tests kernels bench fuzz man python clean
