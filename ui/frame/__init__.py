"""The frame of every page: navigation, sidebar, address, presentation mode, errors."""
