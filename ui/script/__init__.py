"""What Streamlit runs, and its settings beside it."""
