// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output:
	// Buy PN101 for $90?
	// You fly with PN101. (5 requests)
}
