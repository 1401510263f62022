# The types of filling.py, for a compiler: what is not told here may be anything.
cimport cython


cdef class Slots:
    cdef public list ids
    cdef public list around
    cdef public list cares
    cdef public object codec
    cdef public Py_ssize_t start
    cdef public bint straight


cdef class Asked:
    cdef public frozenset roles
    cdef public object filtered
    cdef public tuple firsts
    cdef public tuple sought
    cdef public dict known
    cdef public object written


@cython.locals(shapes=Asked, roles=tuple, contents=list, read=tuple)
cpdef object rendered(tuple last, object tokenizer, object messages, object prompt)


# A content may be anything until it is looked at.
@cython.locals(found=list, contents=list, first=str, text=str)
cpdef object bare(object messages, frozenset roles, object filtered, tuple firsts, tuple sought)


# Texts may be of a type of their own here.
@cython.locals(at=Py_ssize_t, contents=list)
cpdef object filled(Slots shape, list texts, Py_ssize_t start, object state=*)


@cython.locals(
    sizes=list, read=Py_ssize_t, at=Py_ssize_t, before=str, after=str, behind=list, found=list
)
cpdef object encoded_into(object ids, list contents, list around, object fast)
