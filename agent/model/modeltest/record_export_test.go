// SPDX-License-Identifier: Apache-2.0

package modeltest

// DecodeRecording reads a recording and encodes it again.
func DecodeRecording(data []byte) ([]byte, error) {
	r, err := decodeRecording(data)
	if err != nil {
		return nil, err
	}
	return r.encode()
}
