// Package fakecloud is a cloud in memory for the tests of controllers: instances exist at once, end when asked twice,
// and every answer can be replaced.
package fakecloud
