package dashboard

// tries bounds what-ifs.
type tries struct{}
