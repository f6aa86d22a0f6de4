"""Where models come from: dialogs and lists that put one into a page's form."""
