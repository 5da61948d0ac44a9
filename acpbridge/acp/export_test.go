// SPDX-License-Identifier: Apache-2.0

package acp

// PooledCapacity returns the size of the buffer that the next message gets.
func PooledCapacity() int {
	e := newEncoder()
	defer e.release()
	return cap(e.b)
}

// MaxPooled is the largest buffer that is kept.
const MaxPooled = maxPooled

// MarshalByTable and UnmarshalByTable know types of tests, too.
var (
	MarshalByTable   = marshalJSON
	UnmarshalByTable = unmarshalJSON
)
