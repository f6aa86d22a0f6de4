"""A study on a page: form, job, figures, tables, downloads."""
