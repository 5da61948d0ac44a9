package main

func Example() {
	main()
	// Output: SELECT * FROM logs WHERE level = 'error'
}
