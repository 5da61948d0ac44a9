package main

func Example() {
	main()
	// Output: PN101 for $90, after 4 requests
}
