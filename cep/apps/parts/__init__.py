"""What runs in an app: each part is given chunks and passes chunks on."""
