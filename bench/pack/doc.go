// Package pack measures engine/pack: time, memory and price above the floor, by profile and number of pods.
package pack
