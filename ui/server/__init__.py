"""What the server answers besides the pages: metrics, and results as pages of their own."""
