// SPDX-License-Identifier: Apache-2.0

package agent

import "reflect"

// NoMoreIsEmpty reports whether nobody has set options in the place that all runs without them share.
func NoMoreIsEmpty() bool { return reflect.DeepEqual(noMore, moreOptions{}) }
