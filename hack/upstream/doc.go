// Package upstream lists the names of upstream Karpenter: metrics, events, conditions, flags and so on. The file
// names.txt has them, with a note on each that differs in this project.
//
// Begin with Names. Breaches checks what a controller exposes against the metrics of the list.
package upstream
