"""What the pages share: the only code besides them that imports streamlit."""
