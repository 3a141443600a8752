"""Knowledge graphs: reading, looking up, listing the bundled ones. No torch, no jieba."""
