// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output:
	// "Well, thank you very much for nothing.": good, want bad
	// 3 of 4, with 4 requests
}
