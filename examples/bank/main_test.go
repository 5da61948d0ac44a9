// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output: {Text:Ada, you have $123.45. BlockCard:false Risk:1}
}
