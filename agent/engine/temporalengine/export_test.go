// SPDX-License-Identifier: Apache-2.0

package temporalengine

// ByReferences is a converter for the test environment, where the SDK's own race detection would complain about [Converter].
var ByReferences = byReferences

// ChildID returns the id of the workflow of a call.
var ChildID = childID
