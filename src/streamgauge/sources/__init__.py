"""Where rows come from: files of three formats, and a synthetic plant that writes them."""
