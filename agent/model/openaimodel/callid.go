package openaimodel

import (
	"crypto/sha256"
	"strings"
)

const (
	// idAlphabet has the characters that every provider takes in the id of a call.
	idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// maxCallIDLength is how many characters a hash is good for.
	maxCallIDLength = sha256.Size
)

// fitCallID returns an id of exactly length letters and digits: id itself if it is one, otherwise always the same for the
// same id, so that a call and its result keep belonging together and a longer history begins like the shorter one.
func fitCallID(id string, length int) string {
	if length == 0 || len(id) == length && strings.Trim(id, idAlphabet) == "" {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	for i := range hash {
		hash[i] = idAlphabet[int(hash[i])%len(idAlphabet)]
	}
	return string(hash[:length])
}
