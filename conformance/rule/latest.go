package rule

// Latest holds the newest values, up to a bound.
type Latest[T any] struct {
	list []T
	next int
}

// Add adds x; when there are most values it replaces the oldest.
func (l *Latest[T]) Add(x T, most int) {
	if len(l.list) < most {
		l.list = append(l.list, x)
		return
	}
	l.list[l.next] = x
	l.next = (l.next + 1) % most
}

// List returns the values, in no order.
func (l *Latest[T]) List() []T { return l.list }

// Newest yields the values, newest first.
func (l *Latest[T]) Newest(yield func(T) bool) {
	for i := range l.list {
		if !yield(l.list[(l.next-1-i+2*len(l.list))%len(l.list)]) {
			return
		}
	}
}
