// SPDX-License-Identifier: Apache-2.0

package temporalengine

// ByReferences is a converter for the test environment, where the SDK's own race detection would complain about [Converter].
var ByReferences = byReferences

// Synced has every directory that blobs sync noted until the function that it returns is called.
func Synced(note func(path string)) (restore func()) {
	before := syncDir
	syncDir = func(path string) error {
		note(path)
		return before(path)
	}
	return func() { syncDir = before }
}

// ChildID returns the id of the workflow of a call.
var ChildID = childID
