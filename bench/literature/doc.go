// Package literature measures engine/binpack on random instance classes of the vector-bin-packing literature, beside first-fit
// decreasing and the dot-product heuristic.
//
// There is one bin type, and a bin costs 1. The instances are drawn by this package's own generator from the published
// descriptions. So the results can be compared with each other, but not with published tables. The lower bound is the
// continuous one (items may be divided), rounded up; for classes with items larger than half a bin it is far below the
// optimum.
//
//   - Caprara, Toth: Lower bounds and algorithms for the 2-dimensional vector packing problem. Discrete Applied Mathematics 111
//     (2001). Classes 1 to 8 and 10; class 9 is left out.
//   - Panigrahy, Talwar, Uyeda, Wieder: Heuristics for vector bin packing. Microsoft Research (2011). Random classes in more
//     dimensions, with independent and with correlated demands.
package literature
