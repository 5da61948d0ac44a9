// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output:
	// so far: blue whale
	// blue whale  26 m all
	// orca         7 m all
}
