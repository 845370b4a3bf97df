"""What people look at: pages, histories, exports."""
