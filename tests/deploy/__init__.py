"""Files for clusters, held against the product and against the schemas of who reads them."""
