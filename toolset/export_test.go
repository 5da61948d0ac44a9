// SPDX-License-Identifier: Apache-2.0

package toolset

// Words is how the ranking splits a text.
var Words = words
