// Package upstream lets the backtest of this project replay a day with upstream's decisions. These are made by the program
// of bench/peer, which reads requests and writes answers as lines of JSON.
package upstream
