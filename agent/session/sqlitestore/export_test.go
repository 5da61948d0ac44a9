// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import "slices"

// AddStep adds a step to the schema, as a newer version of the program would, until it is mended.
func AddStep(step string) (mend func()) {
	old := steps
	steps = append(slices.Clone(steps), step)
	return func() { steps = old }
}
