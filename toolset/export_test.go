// SPDX-License-Identifier: Apache-2.0

package toolset

// Words is the ranking's view of a text.
var Words = words
