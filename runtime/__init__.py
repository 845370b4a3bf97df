"""What every process runs on: the clock, waiting and retries, tasks, disk, hosts, logins, certificates."""
