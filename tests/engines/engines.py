#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""engines.py ENGINE PACKAGE FOLDER [kill|actor|unchecked] - the rows of FOLDER/in.parquet through an engine's adapter must be
those that `map` alone gives (FOLDER/alone.arrow, by id). kill: a worker's process is killed once on the way; actor: the actor of
Ray around it. unchecked, for bench/scale.py: the rows are not compared, which takes Python half as long as the model.

  engines.py data PACKAGE FOLDER ROWS   makes both files
Engines: stream, spark, ray, daft, duckdb, polars. Status 77: the engine is not installed."""
import glob
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
RAY_METRICS = 18765  # a port
PYTHON = os.path.join(HERE, "..", "..", "python")
sys.path.insert(0, PYTHON)
os.environ["PYTHONPATH"] = PYTHON + os.pathsep + os.environ.get("PYTHONPATH", "")  # workers are other processes
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def make(package, folder, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq
    texts = ["AC sleeper bus from Bangalore to Mumbai tomorrow", "VRL Non-AC from Chennai to Hyderabad next Friday",
             "Volvo from Pune to Goa on Sunday %d", "two seats to Kochi, number %d", None, "déjà vu: bus nach Köln %d", ""]
    column = [t and t.replace("%d", str(i)) for i, t in ((i, texts[i % len(texts)]) for i in range(rows))]
    table = pa.table({"id": pa.array(range(rows), pa.int64()), "text": column})
    os.makedirs(folder, exist_ok=True)
    pq.write_table(table, folder + "/in.parquet", row_group_size=5000)
    with pa.OSFile(folder + "/in.arrow", "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table, max_chunksize=10000)
    subprocess.run([package, "map", folder + "/in.arrow", "--keep", "id", "-o", folder + "/alone.arrow"], check=True)


def run_stream(package, folder, out):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from encoderfile_c import stream
    schema = stream.schema(package, keep=pa.schema([("id", pa.int64())]))
    with pq.ParquetWriter(out, schema) as w:
        for b in stream.stream(package, pq.ParquetFile(folder + "/in.parquet").iter_batches(), keep=["id"]):
            w.write_batch(b)


def run_spark(package, folder, out):
    from pyspark.sql import Observation, SparkSession
    from pyspark.sql import functions as F
    from encoderfile_c import spark as ef
    spark = (SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
             .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
             .config("spark.sql.files.maxPartitionBytes", 1 << 18).config("spark.sql.files.openCostInBytes", 0)
             .config("spark.ui.showConsoleProgress", "false").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    ef.ship(spark, package)
    count = Observation("encoderfile")
    df = spark.read.parquet(folder + "/in.parquet")
    schema = ef.schema(package, df.schema, keep=["id"])
    df = df.mapInArrow(ef.map_in_arrow(package, keep=["id"]), schema)
    df.observe(count, F.count(F.lit(1)).alias("rows"), F.count("error").alias("failed")).write.mode("overwrite").parquet(out)
    counted(count.get["rows"], count.get["failed"], out)
    spark.stop()


def run_ray(package, folder, out):
    import ray
    from encoderfile_c.ray import Encoder
    models = os.path.join(folder, "models")  # shipped by Ray, without its right to run
    os.makedirs(models, exist_ok=True)
    os.chmod(shutil.copyfile(package, os.path.join(models, "shipped.encoderfile")), 0o644)
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=300 << 20, log_to_driver=False, _metrics_export_port=RAY_METRICS,
             runtime_env={"working_dir": models, "env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
    d = ray.data.read_parquet(folder + "/in.parquet", override_num_blocks=8)
    d = d.map_batches(Encoder, fn_constructor_kwargs=dict(package="shipped.encoderfile", keep=["id"]), batch_format="pyarrow", batch_size=4096,
                      compute=ray.data.ActorPoolStrategy(size=2), num_cpus=0.5)
    ray.data.DataContext.get_current().max_errored_blocks = 0
    d.write_parquet(out)
    if importlib.util.find_spec("opencensus"):  # of ray[default], whose agent gives metrics to Prometheus
        counted(ray_metric("encoderfile_rows"), ray_metric("encoderfile_failed_rows"), out)
    ray.shutdown()


def ray_metric(name, seconds=30):
    """The sum over all actors, as soon as their last report is in: actors report every few seconds."""
    best, end = 0, time.time() + seconds
    while time.time() < end:
        time.sleep(1)
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{RAY_METRICS}/metrics", timeout=5).read().decode()
        except OSError:
            continue
        now = sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"ray_{name}_total{{"))
        if now and now == best: break
        best = now
    return int(best)


def run_daft(package, folder, out):
    import daft
    from encoderfile_c import daft as ef
    encode = ef.encoder(package, max_concurrency=2)
    d = daft.read_parquet(folder + "/in.parquet")
    d = d.select(d["id"], encode(d["text"]).alias("found"))
    d = d.select(d["id"], d["found"]["entities"].alias("entities"), d["found"]["error"].alias("error"))
    written = d.write_parquet(out, write_mode="overwrite")
    stats = {name: stat["value"] for step in written.metrics.to_pydict()["stats"] for name, stat in step}
    counted(stats["encoderfile_rows"], stats["encoderfile_failed_rows"], out)


def run_duckdb(package, folder, out):
    import duckdb
    from encoderfile_c import duckdb as ef
    answers = ef.table(duckdb.connect(), f"select id, text from '{folder}/in.parquet'", package)
    con = duckdb.connect()
    con.register("answers", answers)
    con.execute(f"copy (from answers) to '{out}' (format parquet)")


def run_polars(package, folder, out):
    import polars as pl
    from encoderfile_c import polars as ef
    ef.scan(pl.scan_parquet(folder + "/in.parquet"), package).sink_parquet(out)


killed = []


def counted(rows, failed, out):
    """What the engine's own metrics say; rows that were asked for again count again."""
    error = rows_of(out).column("error")
    want = len(error), len(error) - error.null_count
    print(f"{rows:.0f} rows counted, {failed:.0f} failed")
    if (rows, failed) != want and not killed:
        sys.exit(f"metrics: found {rows} rows, {failed} failed; wanted {want}")


def cpu_ticks(pid):
    try:
        with open(f"/proc/{pid}/stat") as f: return int(f.read().rsplit(")", 1)[1].split()[11])
    except OSError:
        return 0


def kill_one(actor):
    """The first process of a package that has worked for a while, wherever it was started; or the actor of Ray that has
    started it."""
    while True: # until the run ends
        time.sleep(.05)
        lines = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout.splitlines()
        process = {int(x[0]): x[1:] for x in (line.split(None, 2) for line in lines) if len(x) == 3}
        for pid, (parent, args) in process.items():
            if not args.split()[0].endswith(".encoderfile") or "--input-format arrow" not in args or cpu_ticks(pid) < 10: continue
            if actor:
                pid = int(parent)
                if not process.get(pid, ("", ""))[1].startswith("ray::"): continue
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.append(pid)
            return print("killed", pid, "an actor" if actor else "")


def rows_of(out):
    import pyarrow as pa
    import pyarrow.parquet as pq
    files = sorted(f for f in glob.glob(out + "/**", recursive=True) if f.endswith(".parquet")) if os.path.isdir(out) else [out]
    return pa.concat_tables([pq.read_table(f).select(["id", "entities", "error"]) for f in files if pq.read_metadata(f).num_rows])


def same(folder, out):
    import pyarrow as pa
    want = pa.ipc.open_file(folder + "/alone.arrow").read_all().to_pylist()
    got = sorted(rows_of(out).to_pylist(), key=lambda r: r["id"])
    if len(got) != len(want):
        sys.exit(f"{len(got)} rows, wanted {len(want)}")
    for a, b in zip(got, want):
        if a != b:
            sys.exit(f"row {b['id']}: found {a}, wanted {b}")
    print(f"{len(got)} rows, each as map alone has it")


def main():
    engine, package, folder, more = (sys.argv[1:] + [""])[:4]
    if engine == "data":
        return make(package, folder, int(more))
    module = {"stream": "pyarrow", "spark": "pyspark"}.get(engine, engine)
    if importlib.util.find_spec(module) is None or importlib.util.find_spec("pyarrow") is None:
        print(f"{module} is not installed")
        sys.exit(77)
    out = f"{folder}/{engine}.parquet"
    shutil.rmtree(out, ignore_errors=True)  # Ray adds to a folder that is there
    if more in ("kill", "actor"):
        threading.Thread(target=kill_one, args=(more == "actor",), daemon=True).start()
    begin = time.time()
    globals()["run_" + engine](os.path.abspath(package), os.path.abspath(folder), os.path.abspath(out))
    print(f"{engine}: {time.time() - begin:.1f} s")
    if more == "unchecked": return
    same(folder, out)
    if more and not killed:
        sys.exit("it ended before anything was killed")


if __name__ == "__main__":
    main()
