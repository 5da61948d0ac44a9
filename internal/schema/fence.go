package schema

import "bytes"

// TrimFences returns the JSON document in text that a model wrote as prose: without the blank space
// around it and without the markdown code fence, if the whole document stands in one. It shares
// memory with text.
func TrimFences(text []byte) []byte {
	text = bytes.TrimSpace(text)
	fence := []byte("```")
	if !bytes.HasPrefix(text, fence) {
		return text
	}
	end := bytes.IndexByte(text, '\n')
	if end < 0 || len(text) < 2*len(fence) || !bytes.HasSuffix(text, fence) {
		return text
	}
	return bytes.TrimSpace(text[end+1 : len(text)-len(fence)])
}
