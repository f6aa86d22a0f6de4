"""A study on a page: form, link, job, figures, downloads."""
