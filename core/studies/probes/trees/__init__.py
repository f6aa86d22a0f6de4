"""The structural-probe study: which layers encode dependency trees."""
