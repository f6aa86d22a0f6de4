"""The documentation: pages in Markdown, notebooks, and what makes pages from the code
(`docs.make`)."""
