package shred

func schemaWarnings(raw any, root *Node) []string { return nil }
