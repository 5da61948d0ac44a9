package modeltest

import "testing"

// Conform runs the conformance suite on a test that is none.
func Conform(t testing.TB, h Harness, run func(t testing.TB, name string, f func(testing.TB))) []Result {
	return conform(t, h, run)
}

// DecodeRecording reads the text of a recording and writes it again.
func DecodeRecording(data []byte) ([]byte, error) {
	r, err := decodeRecording(data)
	if err != nil {
		return nil, err
	}
	return r.encode()
}
