# The types of weighing.py, for a compiler: what is not told here may be anything.
cimport cython


@cython.locals(
    weights=list, at=Py_ssize_t, lead=list, own=list, before=list, behind=list, size=Py_ssize_t
)
cpdef object weighed(object fill, object ids)


@cython.locals(start=Py_ssize_t, end=Py_ssize_t)
cpdef Py_ssize_t own_size(list before, list behind, object ids, Py_ssize_t at, Py_ssize_t size) except -2
