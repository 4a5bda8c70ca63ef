"""Tools for developers: pictures, API pages, the story writer; not part of the package."""
