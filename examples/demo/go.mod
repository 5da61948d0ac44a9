module example.com/temperature

go 1.24
