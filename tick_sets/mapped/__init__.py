"""Any CSV, JSON or Parquet file by its mapping file."""
