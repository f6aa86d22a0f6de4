"""The structural-probe study: which layers encode dependency trees."""

PURPOSE = "how well structural probes predict dependency trees from each layer"
