package suite

// Encode is encode, for tests.
var Encode = encode
