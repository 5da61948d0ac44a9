// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output: SELECT * FROM logs WHERE level = 'error'
}
