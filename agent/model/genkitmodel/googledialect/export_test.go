// SPDX-License-Identifier: Apache-2.0

package googledialect

// Flatten exposes the rewriting of schemas.
var Flatten = flatten

// Objects exposes the reading of the SDK's lists.
var Objects = objects
