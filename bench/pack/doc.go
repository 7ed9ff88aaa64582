// Package pack measures engine/pack: time, memory and price above the floor, by profile and number of pods, and holds the
// laws that every benchmark's plan must keep.
package pack
