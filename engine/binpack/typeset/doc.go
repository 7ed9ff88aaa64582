// Package typeset has sets of bin types as bits, one word for 64 types.
package typeset
