"""Topics and query results as tables: executors write Parquet, the driver makes one atomic commit a batch.

`tables.py` says what a table format has to do; `delta.py`, `iceberg.py` and `parquet.py` do it.
"""
